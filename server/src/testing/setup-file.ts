import { afterAll, afterEach, beforeEach } from 'vitest'
import { beginTest, endFile, endTest, expectFileEnd } from './cleanup.ts'

// Modules may outlive their test file, so hooks that are registered for each file close the resources of its tests.
expectFileEnd()
afterAll(endFile)
beforeEach(beginTest)
afterEach(endTest)

// `vi.unstubAllEnvs` leaves the variables of another object in place, where tests of later files would find them.
const environment = process.env
afterEach(() => {
  if (process.env !== environment) throw new Error('a test has replaced process.env: use vi.stubEnv')
})
