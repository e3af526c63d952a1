import { expect, test } from '@playwright/test'
import { inspect, listen, ready, shown3D, signUp } from './support'

const structure = process.env.MOLFABRIC_STRUCTURE!

test('an artist talks to the Studio, looks at a small picture, exports and orders one', async ({ page }, info) => {
  test.setTimeout(720_000)
  const heard = listen(page)
  const look = (name: string) => inspect(page, info, `desk-artist-${name}`)
  await signUp(page, `artist-${Date.now()}@example.org`)
  await page.goto('/studio/sessions')
  await page.getByLabel('Or a file').setInputFiles(structure)
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await shown3D(page)
  const steps = page.getByRole('region', { name: 'Steps' }).getByRole('listitem')
  const say = async (words: string, count: number) => {
    await page.getByLabel('Message').fill(words)
    await page.getByRole('button', { name: 'Send' }).click()
    await expect(steps).toHaveCount(count)
    await shown3D(page)
  }
  await say('Goodsell style', 2)
  await say('show the ligand as spacefill, colour it orange', 3)
  await look('studio')

  await page.getByLabel('Message').fill('hide everything')
  await page.getByRole('button', { name: 'Preview' }).click()
  await expect(page.getByText('A preview: nothing is kept until you apply it.')).toBeVisible()
  await page.getByRole('button', { name: 'Drop it' }).click()
  await expect(steps).toHaveCount(3)

  await page.getByRole('button', { name: 'Small picture' }).click()
  const picture = page.getByRole('dialog').getByRole('img')
  await expect(async () => {
    const again = page.getByRole('dialog').getByRole('button', { name: /again/i })
    if (await again.isVisible()) await again.click()
    await expect(picture).toBeVisible({ timeout: 10_000 })
  }).toPass({ timeout: 240_000 })
  await look('small-picture')
  await page.getByRole('button', { name: 'Close', exact: true }).click()

  await page.getByRole('button', { name: 'Export' }).click()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'With its structures (.mvsx)' }).click()
  expect((await saved).suggestedFilename()).toMatch(/\.mvsx$/)
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Order a picture' }).click()
  await expect(page.getByText(/Expected to cost £/)).toBeVisible()
  await look('order')
  await page.getByRole('button', { name: 'Order it' }).click()
  await page.getByRole('link', { name: 'Watch the picture being made' }).click()
  await expect(page.getByText('completed', { exact: true }).first()).toBeVisible({ timeout: 180_000 })
  await expect(page.locator('main img').first()).toBeVisible()
  await ready(page)
  await look('picture')
  expect(heard).toEqual([])
})
