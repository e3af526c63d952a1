// How long a reader waits with nothing cached, in a browser that has just begun. MOLFABRIC_SPEED_EMAIL names an account of a running
// system that has docked something; its password is that of the stories.
import { expect, test } from '@playwright/test'
import { shown3D, signIn } from './support'

const rounds = 3

test('dashboard and pose with a cold cache', async ({ browser }) => {
  test.setTimeout(300_000)
  const before = await browser.newContext()
  const page = await before.newPage()
  await signIn(page, process.env.MOLFABRIC_SPEED_EMAIL!)
  await page.goto('/dockings')
  await page.locator('main a[href*="/dockings/"]').first().click()
  await page.locator('main a[href*="/ligands/"]').first().click()
  await page.getByRole('link', { name: 'Pose 1', exact: true }).click()
  await expect(page).toHaveURL(/\/poses\//)
  const pose = page.url()
  const storageState = await before.storageState()
  await before.close()

  const waited = async (address: string, seen: (page: import('@playwright/test').Page) => Promise<void>) => {
    const context = await browser.newContext({ storageState })
    const fresh = await context.newPage()
    const began = Date.now()
    await fresh.goto(address, { waitUntil: 'commit' })
    await seen(fresh)
    const ms = Date.now() - began
    await context.close()
    return ms
  }
  for (let round = 0; round < rounds; round++) {
    const dashboard = await waited('/', (fresh) => fresh.locator('main a[href*="/jobs/"]').first().waitFor())
    console.log(`dashboard with its jobs ${dashboard} ms, pose drawn ${await waited(pose, shown3D)} ms`)
  }
})
