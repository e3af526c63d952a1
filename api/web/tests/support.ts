import AxeBuilder from '@axe-core/playwright'
import { expect, type Page, type TestInfo } from '@playwright/test'

export const password = 'a chemist needs a long password'

/** Opens an account through the pages and comes out on the dashboard. */
export async function signUp(page: Page, email: string) {
  await page.goto('/sign-up')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Open the account' }).click()
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible()
}

export async function signIn(page: Page, email: string) {
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible()
}

/** Waits until a page has read what it shows. */
export async function ready(page: Page) {
  await expect(page.getByText(/^Loading/)).toHaveCount(0)
}

/** Waits until the molecules are drawn. */
export async function shown3D(page: Page) {
  await expect(page.locator('[data-viewer][data-ready="true"]')).toBeVisible({ timeout: 60_000 })
}

/** Messages that a page must never write: what its policy refused, and what nobody caught. */
export function listen(page: Page): string[] {
  const heard: string[] = []
  page.on('pageerror', (error) => heard.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|Trusted|Uncaught/i.test(message.text())) heard.push(message.text())
  })
  page.on('request', (request) => {
    const host = new URL(request.url()).hostname
    if (!['127.0.0.1', 'localhost', ''].includes(host)) heard.push(`a foreign host was asked: ${request.url()}`)
  })
  return heard
}

/** Looks at a page: nothing wider than the window, WCAG 2.2 AA as far as axe sees, one heading; and keeps a picture of it. */
export async function inspect(page: Page, info: TestInfo, name: string) {
  await expect(page.locator('h1')).toHaveCount(1)
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  expect(overflow, `${name} is wider than the window`).toBeLessThanOrEqual(0)
  const found = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']).analyze()
  expect(found.violations.map((v) => `${v.id}: ${v.nodes.map((node) => node.target.join(' ')).join(', ')}`), name).toEqual([])
  const body = await page.screenshot({ path: info.outputPath(`${name}.png`), fullPage: true })
  await info.attach(name, { body, contentType: 'image/png' })
}

/** Looks at a page on a desk, and as it is on a phone in the dark. */
export async function inspectBoth(page: Page, info: TestInfo, name: string) {
  const desk = page.viewportSize()!
  await inspect(page, info, `desk-${name}`)
  await page.setViewportSize({ width: 390, height: 844 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await inspect(page, info, `phone-${name}`)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(desk)
}

/** Asks whoever started the system to do something to it, and returns the answer. */
export async function harness(what: 'restart' | 'mail'): Promise<string> {
  const answer = await fetch(`${process.env.MOLFABRIC_HARNESS}/${what}`, { method: 'POST' })
  if (!answer.ok) throw new Error(`${what}: ${answer.status} ${await answer.text()}`)
  return answer.text()
}

/** Follows the newest mailed link, as the owner of the address does. */
export async function proved(page: Page) {
  await page.goto(await harness('mail'))
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Yes, it is mine' }).click()
  await expect(page.getByText('is the address of your account')).toBeVisible()
}
