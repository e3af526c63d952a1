import { expect, type Page, test } from '@playwright/test'
import { inspectBoth, listen, ready, shown3D, signUp } from './support'

const structure = process.env.MOLFABRIC_STRUCTURE ?? '../../engines/enginestest/samples/1cbs.cif.gz'
const retinol = 'CC1=C(C(CCC1)(C)C)/C=C/C(=C/C=C/C(=C/CO)/C)/C retinol'

// One docking is looked at on a desk and on a phone: the pages are what differs, not the chemistry.
test('a chemist docks, looks, asks for a figure and shares it', async ({ browser, page }, info) => {
  test.setTimeout(1_200_000)
  const heard = listen(page)
  const look = (name: string) => inspectBoth(page, info, `chemist-${name}`)
  await signUp(page, `chemist-${Date.now()}@example.org`)

  await test.step('submits a docking with its price before', () => submitDocking(page, look))
  const job = page.url()
  await test.step('watches it to its end', async () => {
    await expect(page.getByText('completed', { exact: true }).first()).toBeVisible({ timeout: 600_000 })
    await look('job')
    for (const tab of ['Tasks', 'Logs', 'Outputs', 'Provenance']) {
      await page.getByRole('link', { name: tab, exact: true }).click()
      await expect(page).toHaveURL(new RegExp(`tab=${tab.toLowerCase()}`))
      await ready(page)
      await look(`job-${tab.toLowerCase()}`)
    }
  })
  await test.step('reads the results', async () => {
    await page.getByRole('link', { name: 'See the docking' }).click()
    await page.getByRole('link', { name: 'retinol', exact: true }).first().scrollIntoViewIfNeeded()
    await expect(page.getByRole('img', { name: /retinol/ }).first()).toBeVisible()
    await look('run')
    await page.getByLabel('Find').fill('nothing is called so')
    await expect(page.getByText('0 of 1 ligand')).toBeVisible()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('link', { name: 'retinol', exact: true }).first().click()
    await expect(page.getByRole('link', { name: 'Pose 1', exact: true })).toBeVisible()
    await look('ligand')
  })
  let pose = ''
  await test.step('sees the pose in its pocket', async () => {
    await page.getByRole('link', { name: 'Pose 1', exact: true }).click()
    await shown3D(page)
    await expect(page.getByRole('button', { name: 'Next pose' })).toBeVisible()
    await look('pose')
    pose = page.url()
  })
  await test.step('orders a figure in two clicks', async () => {
    await page.getByRole('button', { name: 'Make a figure' }).click()
    await page.getByRole('button', { name: 'Make it' }).click()
    await page.getByRole('link', { name: 'Go to the job' }).click()
    await expect(page.getByText('completed', { exact: true }).first()).toBeVisible({ timeout: 180_000 })
    await expect(page.locator('main img').first()).toBeVisible()
    await look('figure')
  })
  let project = ''
  await test.step('asks the Studio, and saves what it shows', async () => {
    await page.goto(pose)
    await page.getByRole('button', { name: 'Open in Studio' }).click()
    await shown3D(page)
    await page.getByLabel('Message').fill('show the ligand as sticks and label the hydrogen bonds')
    await page.getByRole('button', { name: 'Send' }).click()
    await expect(page.getByText('seen now')).toBeVisible()
    await expect(page.getByRole('region', { name: 'Steps' }).getByRole('listitem')).toHaveCount(2)
    await look('studio')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await expect(page.getByRole('button', { name: 'As opened' })).toContainText('seen now')
    await page.getByRole('button', { name: 'Redo', exact: true }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/name|title/i).first().fill('Retinol in CRABP II')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.getByRole('link').first().click()
    await expect(page).toHaveURL(/\/projects\//)
    project = page.url()
    await ready(page)
    await look('project')
  })
  await test.step('shares it, and takes the link back', async () => {
    await page.getByRole('button', { name: 'Share version 1' }).click()
    const link = await page.getByRole('link', { name: 'Look at it' }).getAttribute('href')
    const other = await browser.newContext()
    const guest = await other.newPage()
    await guest.goto(link!)
    await expect(guest.getByRole('heading', { name: 'Retinol in CRABP II' })).toBeVisible()
    await inspectBoth(guest, info, 'shared')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke the link' }).click()
    await expect(page.getByRole('button', { name: 'Share version 1' })).toBeVisible()
    await guest.reload()
    await expect(guest.getByText('This share has ended')).toBeVisible()
    await other.close()
  })
  await test.step('nobody else sees any of it', async () => {
    const other = await browser.newContext()
    const stranger = await other.newPage()
    await signUp(stranger, `stranger-${Date.now()}@example.org`)
    for (const address of [job, pose, project]) {
      await stranger.goto(address)
      await expect(stranger.getByRole('alert').first()).toContainText(/no |not /i)
      await expect(stranger.getByText(/retinol/i)).toHaveCount(0)
    }
    await other.close()
  })
  await test.step('signs out, and the back button shows nothing', async () => {
    await page.getByRole('button', { name: 'Sign out' }).click()
    await expect(page).toHaveURL(/sign-in/)
    await page.goBack()
    await expect(page.getByLabel('Email')).toBeVisible()
  })
  expect(heard).toEqual([])
})

async function submitDocking(page: Page, look: (name: string) => Promise<void>) {
  await page.goto('/new/docking')
  await page.getByText('A file of mine').click()
  await page.getByLabel('Structure', { exact: true }).setInputFiles(structure)
  await expect(page.getByText(/REA/).first()).toBeVisible({ timeout: 60_000 })
  await page.getByLabel('SMILES and names').fill(retinol)
  await page.getByLabel('Dock the bound ligand again').check()
  await page.getByLabel('Search effort (exhaustiveness)').selectOption('8')
  await page.getByLabel('Picture of the report').selectOption('none')
  await expect(page.getByText(/Likely between £/)).toBeVisible({ timeout: 60_000 })
  await look('form')
  await page.getByRole('button', { name: 'Submit', exact: true }).click()
  await expect(page).toHaveURL(/\/jobs\//)
}
