import { defineProject } from 'vitest/config'

export default defineProject({
  test: {
    name: 'web',
    root: import.meta.dirname,
    pool: 'forks',
    // Must equal that of the other project, or Vitest runs neither.
    maxWorkers: 4,
    // These tests are pure; a process per file would take five times as long.
    isolate: false,
    // Components are rendered to text; end-to-end tests cover their behaviour in a browser.
    include: ['src/**/*.test.{ts,tsx}'],
  },
})
