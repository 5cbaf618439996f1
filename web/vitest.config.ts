import { defineProject } from 'vitest/config'

export default defineProject({
  test: {
    name: 'web',
    root: import.meta.dirname,
    pool: 'forks',
    // As many as the other project: of different numbers, as by the cores of a large machine, Vitest runs neither.
    maxWorkers: 4,
    // What is tested here is pure: a process for each file would take five times as long as the tests.
    isolate: false,
    // Components are rendered to text: how they behave in a browser is for the end-to-end tests.
    include: ['src/**/*.test.{ts,tsx}'],
  },
})
