import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

type Advisory = { id: number; url: string; title: string; severity: string; vulnerable_versions: string }

/** Runs the audit with a registry that knows advisories on packages; undefined is one that cannot be reached. */
async function audit(advisories: Record<string, Advisory[]> | undefined) {
  const registry = createServer((request, response) => {
    const isQuestion = request.url?.endsWith('/advisories/bulk') === true
    request.resume().once('end', () => {
      response.writeHead(isQuestion && advisories ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isQuestion ? (advisories ?? {}) : {}))
    })
  })
  await new Promise<void>((resolve) => {
    registry.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    registry.close()
  })
  const { port } = registry.address() as AddressInfo
  // npm caches what it has worked out about an advisory.
  const cache = await mkdtemp(join(tmpdir(), 'groundstate-audit-'))
  onTestFinished(() => rm(cache, { recursive: true }))
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: cache,
    npm_config_fetch_retries: '0',
    npm_config_loglevel: 'error',
  }
  return new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(process.execPath, [join(import.meta.dirname, 'audit.mjs')], { env }, (error, out, err) => {
      resolve({ code: error?.code ?? 0, out, err })
    })
  })
}

function advisoryOn(severity: string): Advisory {
  return { id: 1, url: 'https://advisories.example/1', title: 'Anyone may read', severity, vulnerable_versions: '*' }
}

test('a high vulnerability of a shipped dependency fails', async () => {
  const { code, out } = await audit({ fastify: [advisoryOn('high')] })

  expect(out).toContain('audit: high: fastify: Anyone may read https://advisories.example/1\n')
  expect(code).toBe(1)
})

test('a moderate one is listed, and one of a development dependency is not', async () => {
  const { code, out } = await audit({ fastify: [advisoryOn('moderate')], vitest: [advisoryOn('critical')] })

  expect(out).toContain('audit: moderate: fastify: ')
  expect(out).toContain('audit: 1 vulnerable packages, 0 of them high or critical\n')
  expect(code).toBe(0)
})

test('a registry that does not answer is reported and no failure', async () => {
  const { code, err } = await audit(undefined)

  expect(err).toContain('audit: SKIPPED, the registry was not asked for vulnerabilities: ')
  expect(code).toBe(0)
})
