import { defineConfig } from '@playwright/test'

// Debian's Chromium against a running system (MOLFABRIC_URL): no mock, no browser of Playwright's own. `go test ./internal/e2e -run
// TestWebApp` starts the system and calls this.
export default defineConfig({
  testDir: 'tests',
  outputDir: process.env.MOLFABRIC_SCREENSHOTS ?? 'test-results',
  timeout: 300_000, // whoever else uses the machine
  expect: { timeout: 30_000 },
  retries: 1, // a machine that does something else for half a minute is no fault of a page
  // Stories have accounts of their own and run side by side; faults, which start the system anew, come after them.
  workers: 2,
  fullyParallel: true,
  projects: [
    { name: 'stories', testIgnore: ['faults.spec.ts', 'speed.spec.ts'] },
    { name: 'faults', testMatch: 'faults.spec.ts', dependencies: ['stories'], fullyParallel: false },
    ...(process.env.MOLFABRIC_SPEED_EMAIL ? [{ name: 'speed', testMatch: 'speed.spec.ts' }] : []),
  ],
  reporter: [['list']],
  use: {
    baseURL: process.env.MOLFABRIC_URL ?? 'http://127.0.0.1:8080',
    launchOptions: {
      executablePath: process.env.MOLFABRIC_CHROMIUM ?? '/usr/bin/chromium',
      // Without a GPU Mol* is drawn by SwiftShader; as root Chromium has no sandbox of its own.
      args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
    },
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    trace: 'on-first-retry', // a picture of every change takes longer than what it shows
    screenshot: 'only-on-failure',
  },
})
