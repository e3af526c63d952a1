import { expect, test } from '@playwright/test'
import { harness, listen, password, ready, signIn, signUp } from './support'

test('a page outlives a restart of the service and goes on by itself', async ({ page, browser }) => {
  test.setTimeout(240_000)
  const heard = listen(page)
  const email = `patient-${Date.now()}@example.org`
  await signUp(page, email)
  await page.goto('/')
  await ready(page)
  await harness('restart')
  // What happens now comes over the stream, which the browser has opened anew: nobody reads the page again.
  const elsewhere = await browser.newContext()
  const other = await elsewhere.newPage()
  await signIn(other, email)
  await other.goto('/new/rendering')
  await other.getByLabel('Scene or structure').setInputFiles(process.env.MOLFABRIC_STRUCTURE!)
  await other.getByLabel('Size in pixels').fill('320x180')
  await other.getByLabel('Name of the job').fill('While it was away')
  await expect(other.getByText(/Likely between £/)).toBeVisible({ timeout: 60_000 })
  await other.getByRole('button', { name: 'Submit', exact: true }).click()
  await expect(other).toHaveURL(/\/jobs\//)
  await expect(page.getByText('While it was away').first()).toBeVisible({ timeout: 60_000 })
  await expect(page.getByRole('row', { name: /While it was away/ }).getByText('completed')).toBeVisible({ timeout: 120_000 })
  await elsewhere.close()
  expect(heard).toEqual([])
})

test('a session that ends elsewhere leads to the sign-in and back, and keeps what was typed', async ({ page, context }) => {
  const email = `interrupted-${Date.now()}@example.org`
  await signUp(page, email)
  await page.goto('/new/docking')
  await page.getByLabel('SMILES and names').fill('CCO ethanol')
  await expect(page.getByText('1 ligand', { exact: true }).first()).toBeVisible()
  await context.clearCookies()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await expect(page).toHaveURL(/\/sign-in/)
  for (const elsewhere of ['//evil.example', '/..//evil.example', 'https://evil.example']) {
    await page.goto(`/sign-in?next=${elsewhere}`)
    await expect(page.getByText('Then you come back to the page that you asked for.')).toHaveCount(0)
    await expect(page.getByLabel('Email')).toBeVisible()
  }
  await page.goto('/new/docking')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(page).toHaveURL(/\/new\/docking/)
  await expect(page.getByLabel('SMILES and names')).toHaveValue('CCO ethanol')
})
