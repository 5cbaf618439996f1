import { defineProject } from 'vitest/config'

export default defineProject({
  test: {
    name: 'web',
    root: import.meta.dirname,
    pool: 'forks',
    // Components are rendered to text: how they behave in a browser is for the end-to-end tests.
    include: ['src/**/*.test.{ts,tsx}'],
  },
})
