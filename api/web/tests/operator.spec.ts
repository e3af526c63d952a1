import { expect, test } from '@playwright/test'
import { inspect, listen, proved, ready, signIn, signUp } from './support'

test('an operator sees the fleet, and nobody else does', async ({ page, browser }, info) => {
  const heard = listen(page)
  const email = 'operator@example.org'
  if (info.retry === 0) await signUp(page, email)
  else await signIn(page, email)
  await page.goto('/operator')
  await expect(page.getByText('This page is for those who run the service')).toBeVisible()

  await page.goto('/settings')
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
