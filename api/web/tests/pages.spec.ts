import { expect, test } from '@playwright/test'
import { inspect, listen, signUp } from './support'

/** Every page that needs nothing to exist, as a new account sees it. */
const addresses = ['/', '/new', '/new/docking', '/new/pockets', '/new/dynamics', '/new/search', '/new/folding',
  '/new/rendering', '/dockings', '/searches',
  '/studio/sessions', '/projects', '/credits', '/keys', '/settings', '/more']

const looks = [
  { size: 'desk', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { size: 'phone', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const

for (const { size, viewport, colorScheme } of looks) {
  test(`pages of a new account, ${size}, ${colorScheme}`, async ({ browser }, info) => {
    const context = await browser.newContext({ viewport, colorScheme })
    const page = await context.newPage()
    const heard = listen(page)
    await signUp(page, `new-${size}-${colorScheme}-${Date.now()}@example.org`)
    for (const address of addresses) {
      await page.goto(address)
      await expect(page.getByText(/^Loading/)).toHaveCount(0)
      await inspect(page, info, `${size}-${colorScheme}${address.replaceAll('/', '-')}`)
    }
    await context.clearCookies()
    for (const address of ['/sign-in', '/sign-up']) {
      await page.goto(address)
      await expect(page.getByLabel('Email')).toBeVisible()
      await inspect(page, info, `${size}-${colorScheme}${address.replaceAll('/', '-')}`)
    }
    expect(heard).toEqual([])
    await context.close()
  })
}

test('the keyboard reaches the page and every place of the menu', async ({ page }) => {
  await signUp(page, `keyboard-${Date.now()}@example.org`)
  await page.goto('/')
  await expect(page.locator('h1')).toBeVisible() // a key that comes before the page is lost
  await page.keyboard.press('Tab')
  await expect(page.getByText('Skip to the page')).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.locator('main')).toBeFocused()
  const reached = new Set<string>()
  await page.goto('/')
  await expect(page.locator('h1')).toBeVisible()
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press('Tab')
    reached.add((await page.evaluate(() => document.activeElement?.textContent)) ?? '')
  }
  for (const place of ['Jobs', 'New', 'Dockings', 'Studio', 'Projects', 'Credits', 'Keys', 'Settings', 'Sign out']) expect([...reached]).toContain(place)
})

test('a ligand is drawn', async ({ page }, info) => {
  const heard = listen(page)
  await signUp(page, `drawer-${Date.now()}@example.org`)
  await page.goto('/new/docking')
  await page.getByRole('button', { name: 'Draw one' }).click()
  const dialog = page.getByRole('dialog')
  const board = dialog.locator('[data-ready="true"]')
  await expect(board.locator('canvas').first()).toBeVisible()
  await dialog.getByRole('button', { name: 'Add it' }).click()
  await expect(dialog.getByText('Draw a structure first')).toBeVisible()
  await board.click({ position: { x: 33, y: 202 } }) // benzene among the tools
  await board.click({ position: { x: 300, y: 190 } })
  await inspect(page, info, 'desk-drawing')
  await dialog.getByLabel('Its name').fill('benzene')
  await dialog.getByRole('button', { name: 'Add it' }).click()
  await expect(page.getByLabel('SMILES and names')).toHaveValue('c1ccccc1 benzene')
  expect(heard).toEqual([])
})

test('what AlphaFold 2 can be told', async ({ page }, info) => {
  const heard = listen(page)
  await signUp(page, `folder-${Date.now()}@example.org`)
  await page.goto('/new/folding')
  await page.getByLabel('FASTA').fill('>cage\nNLYIQWLKDGGPSSGRPPPS\n')
  await expect(page.getByLabel('Recycles')).toHaveCount(0)
  await page.getByLabel('Model', { exact: true }).selectOption('alphafold')
  await page.getByLabel('Models').fill('6')
  await expect(page.getByText('Models: write a whole number from 1 to 5.')).toBeVisible()
  await page.getByLabel('Models').fill('2')
  await page.getByLabel('Alignment').selectOption('single_sequence')
  await page.getByLabel('Relax the best model with OpenMM').check()
  await expect(page.getByText(/"foldModels": 2/)).toBeVisible()
  await expect(page.getByText(/molfabric fold proteins.fasta --relax/)).toBeVisible()
  await inspect(page, info, 'desk-alphafold')
  expect(heard).toEqual([])
})
