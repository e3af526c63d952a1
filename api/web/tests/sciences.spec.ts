import { readFileSync } from 'node:fs'
import { expect, type Page, test } from '@playwright/test'
import { inspect, inspectBoth, listen, ready, shown3D, signUp } from './support'

const globin = `>query human haemoglobin, beta
MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPK
VKAHGKKVLGAFSDGLAHLDNLKGTFATLSELHCDKLHVDPENFRLLGNVLVCVLAHHFG
KEFTPPVQAAYQKVVAGVANALAHKYH`

/** Submits a form that is filled, with its price before, and waits for the job to end. */
async function submitted(page: Page, ending = 'completed') {
  await expect(page.getByText(/Likely between £/)).toBeVisible({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Submit', exact: true }).click()
  await expect(page).toHaveURL(/\/jobs\//)
  await expect(page.getByText(ending, { exact: true }).first()).toBeVisible({ timeout: 480_000 })
}

test('a search is read down to its alignments, and is not paid for twice', async ({ page }, info) => {
  test.setTimeout(600_000)
  const heard = listen(page)
  await signUp(page, `searcher-${Date.now()}@example.org`)
  await page.goto('/new/search')
  await page.getByLabel('FASTA').fill(globin)
  await submitted(page)
  const first = page.url()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download the receipt' }).click()
  const receipt = await saved
  expect(receipt.suggestedFilename()).toMatch(/^job_.+-receipt\.json$/)
  expect(JSON.parse(readFileSync(await receipt.path(), 'utf8'))).toHaveProperty('payloadType', 'application/vnd.in-toto+json')
  await page.getByRole('link', { name: 'See the hits' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toContainText('blastp of query')
  await ready(page)
  await inspect(page, info, 'desk-search')
  await page.locator('main').getByRole('link', { name: 'query', exact: true }).click()
  await expect(page.getByText('HBB_HUMAN').first()).toBeVisible()
  await ready(page)
  await inspect(page, info, 'desk-alignments')

  await page.goto('/new/search')
  await page.getByLabel('FASTA').fill(globin)
  await page.getByLabel('Run everything again').check()
  await expect(page.getByText(/"noReuse": true/)).toBeVisible()
  await expect(page.getByText(/molfabric blast queries.fasta --no-reuse/)).toBeVisible()
  await page.getByLabel('Run everything again').uncheck()
  await submitted(page)
  await expect(page.getByText(/^\d+ of \d+ tasks were known and cost nothing/)).toBeVisible()
  await inspectBoth(page, info, 'known')
  await page.getByRole('link', { name: 'See which' }).click()
  await expect(page.getByText(/Those with a K were known/)).toBeVisible()
  await page.getByRole('link', { name: /^an earlier job/ }).first().click()
  await expect(page).toHaveURL(`${first}?tab=tasks`)
  expect(heard).toEqual([])
})

test('pockets are found, and a simulation is played with its plots', async ({ page }, info) => {
  test.setTimeout(720_000)
  const heard = listen(page)
  await signUp(page, `dynamicist-${Date.now()}@example.org`)
  await page.goto('/new/pockets')
  await page.getByLabel('Structure', { exact: true }).setInputFiles(process.env.MOLFABRIC_STRUCTURE!)
  await submitted(page)
  await inspect(page, info, 'desk-pockets')

  await page.goto('/new/dynamics')
  await page.getByLabel('Structure', { exact: true }).setInputFiles(process.env.MOLFABRIC_PEPTIDE!)
  await page.getByLabel('Length of the run, ns').fill('0.002')
  await page.getByLabel('Save a frame every, ps').fill('0.2')
  await page.getByLabel('Settle at constant volume, ps').fill('0.2')
  await page.getByLabel('Settle at constant pressure, ps').fill('0.2')
  await submitted(page)
  await page.getByRole('button', { name: /^Play it here/ }).click()
  await shown3D(page)
  await expect(page.getByText('Frame 1 of 10')).toBeVisible()
  await page.getByRole('slider').press('End')
  await expect(page.getByText('Frame 10 of 10')).toBeVisible()
  await shown3D(page)
  await ready(page)
  await inspect(page, info, 'desk-dynamics')
  await page.getByRole('button', { name: 'Play', exact: true }).click()
  await expect(page.getByText(/^Frame [2-5] of 10/)).toBeVisible()
  await page.getByRole('button', { name: 'Pause' }).click()
  expect(heard).toEqual([])
})

const proteins = `>cage
NLYIQWLKDGGPSSGRPPPS
>bad
MKX
>ubiquitin
MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG`

test('proteins are folded, and looked at with their confidence', async ({ page }, info) => {
  test.setTimeout(600_000)
  const heard = listen(page)
  await signUp(page, `folder-${Date.now()}@example.org`)
  await page.goto('/new')
  await page.locator('main').getByRole('link', { name: 'Begin: Folding' }).click()
  await page.getByLabel('FASTA').fill(proteins)
  await submitted(page, 'completed with failures') // one of them cannot be folded
  await expect(page.getByText('these structures mean nothing')).toBeVisible({ timeout: 60_000 })
  await expect(page.getByText(/has 'X' at position 3/).first()).toBeVisible()
  await page.getByRole('button', { name: 'Show ubiquitin' }).click()
  await shown3D(page)
  const errors = page.getByRole('img', { name: /^Expected position error, Å: 76 by 76/ })
  await errors.press('ArrowDown')
  await errors.press('Shift+ArrowRight')
  await expect(page.getByText(/^K 11 when Q 2 lies on the truth: \d+\.\d Å$/)).toBeVisible()
  await errors.press('Enter')
  await ready(page)
  await inspectBoth(page, info, 'fold')
  expect(heard).toEqual([])
})
