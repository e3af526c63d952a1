import { expect, type Page, test, type TestInfo } from '@playwright/test'
import { inspect, inspectBoth, listen, proved, ready, signIn, signUp } from './support'

test('an operator sees the fleet, and nobody else does', async ({ page, browser }, info) => {
  const heard = listen(page)
  const email = 'operator@example.org'
  if (info.retry === 0) await signUp(page, email)
  else await signIn(page, email)
  await page.goto('/operator')
  await expect(page.getByText('This page is for those who run the service')).toBeVisible()

  await page.goto('/settings')
  await test.step('sets up a webhook', () => setUpWebhook(page, info))
  await test.step('chooses what is mailed', async () => {
    await page.getByLabel('A job has ended').check()
    await page.getByRole('button', { name: 'Save what is mailed' }).click()
    await expect(page.getByText('The choice is saved.')).toBeVisible()
  })
  await page.getByRole('button', { name: 'Send the link again' }).click()
  await expect(page.getByText('The link is on its way again')).toBeVisible()
  await proved(page)
  await page.goto('/')
  await page.getByRole('link', { name: 'Operator' }).click()
  await expect(page.getByRole('table', { name: 'Workers' }).getByRole('row')).toHaveCount(2)
  await ready(page)
  await inspect(page, info, 'desk-operator')
  await page.setViewportSize({ width: 390, height: 844 })
  await inspect(page, info, 'phone-operator')
  expect(heard).toEqual([])

  const other = await browser.newContext()
  const stranger = await other.newPage()
  await signUp(stranger, `curious-${Date.now()}@example.org`)
  await expect(stranger.getByRole('link', { name: 'Operator' })).toHaveCount(0)
  await stranger.goto('/operator')
  await expect(stranger.getByText('This page is for those who run the service')).toBeVisible()
  await other.close()
})

/** Adds a webhook, has it told, and removes it again. Nobody is at its address. */
async function setUpWebhook(page: Page, info: TestInfo) {
  const address = `https://nobody.invalid/${Date.now()}`
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add a webhook' }).click()
  await dialog.getByLabel('Address').fill('https://127.0.0.1/molfabric')
  await dialog.getByLabel('Credit runs low').check()
  await dialog.getByLabel('Credit is low below, in pence').fill('2000')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await expect(dialog.getByLabel('Address')).toHaveAttribute('aria-invalid', 'true')
  await dialog.getByLabel('Address').fill(address)
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await expect(dialog.getByText(/^whsec_/)).toBeVisible()
  await dialog.getByRole('button', { name: 'I have kept it' }).click()
  await expect(page.getByRole('row').filter({ hasText: address })).toContainText('credit below £20.00')

  await page.getByRole('button', { name: `Send a test to ${address}` }).click()
  const message = page.getByRole('table', { name: 'Messages' }).getByRole('row').filter({ hasText: 'a test' })
  await expect(message).toContainText('No answer')
  await expect(message).toContainText('pending')
  await inspectBoth(page, info, 'webhooks')
  await message.getByRole('button', { name: /^Send again: a test/ }).click()
  await expect(message).toContainText('pending')

  await page.getByRole('button', { name: `New secret of ${address}` }).click()
  await dialog.getByRole('button', { name: 'Make a new secret' }).click()
  await expect(dialog.getByText(/^whsec_/)).toBeVisible()
  await dialog.getByRole('button', { name: 'I have kept it' }).click()
  await page.getByRole('button', { name: `Disable ${address}` }).click()
  await expect(page.getByRole('button', { name: `Enable ${address}` })).toBeVisible()
  await expect(page.getByRole('button', { name: `Send a test to ${address}` })).toBeDisabled()
  await page.getByRole('button', { name: `Remove ${address}` }).click()
  await dialog.getByRole('button', { name: 'Remove the webhook' }).click()
  await expect(page.getByText(address)).toHaveCount(0)
}
