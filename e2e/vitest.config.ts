import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    name: 'e2e',
    root: join(import.meta.dirname, '..'),
    setupFiles: ['server/src/testing/setup-file.ts'],
    include: ['e2e/**/*.test.ts', 'agent/src/**/*.engine.test.ts'],
    pool: 'forks',
    // Each file starts a server and real engines; two cores can run two files.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // As in the unit tests: a change comes later on a busy machine.
    expect: { poll: { timeout: 10_000 } },
  },
})
