import { existsSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'

const web = 'web/vitest.config.ts'

export default defineConfig({
  test: {
    // Two cores are the smallest machine that runs this. A worker spends two thirds of its time waiting for the database, for
    // processes and for deadlines: two of them would leave a third of two cores idle.
    maxWorkers: 4,
    projects: [
      {
        test: {
          name: 'node',
          pool: 'forks',
          // Loading the server again for each of over two hundred files would take a third of the time.
          isolate: false,
          setupFiles: ['server/src/testing/setup-file.ts'],
          include: ['{contract,server,agent,scripts,lint}/**/*.test.ts'],
          // They run real engines most of the time, as the end-to-end tests do.
          exclude: [...configDefaults.exclude, '**/*.engine.test.ts'],
          globalSetup: ['server/src/testing/global-setup.ts'],
          testTimeout: 20_000,
          hookTimeout: 20_000,
          // What a test waits for comes later on a busy machine.
          expect: { poll: { timeout: 10_000 } },
        },
      },
      // The web application has its own: other sources, and no database.
      ...(existsSync(web) ? [web] : []),
    ],
  },
})
