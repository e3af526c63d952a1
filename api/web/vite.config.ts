import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import { defineConfig, type Plugin } from 'vite'

const compressible = /\.(js|css|html|svg|json|txt)$/

/** Replaces each text file of the output by its two compressed forms: the binary that embeds them carries no third. */
function compressed(): Plugin {
  let out = ''
  return {
    name: 'compressed',
    apply: 'build',
    configResolved(config) {
      out = resolve(config.root, config.build.outDir)
    },
    closeBundle() {
      for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !compressible.test(entry.name)) continue
        const path = join(entry.parentPath, entry.name)
        const text = readFileSync(path)
        writeFileSync(path + '.gz', gzipSync(text, { level: 9 }))
        writeFileSync(path + '.br', brotliCompressSync(text, {
          params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
        }))
        rmSync(path)
      }
    },
  }
}

export default defineConfig({
  plugins: [tailwindcss(), compressed()],
  resolve: { alias: { '@': join(import.meta.dirname, 'src') } },
  build: { target: 'es2022', emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 4000,
    // Base UI marks its modules for servers that render; nobody renders these pages on a server.
    rolldownOptions: { checks: { moduleLevelDirective: false }, onLog: (level, log, handle) => { if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log) } } },
  // While the pages are worked on, a running system answers for the API: npm run dev beside `molfabric up`.
  server: { host: '127.0.0.1', proxy: Object.fromEntries(['/api', '/docs', '^/shared/[^/]+/content\\.json$'].map((path) => [path, process.env.MOLFABRIC_URL ?? 'http://127.0.0.1:8080'])) },
  worker: { format: 'es' },
})
