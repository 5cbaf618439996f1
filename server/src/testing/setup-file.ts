import { afterAll, afterEach, beforeEach } from 'vitest'
import { beginTest, endFile, endTest, expectFileEnd } from './cleanup.ts'

// Modules may outlive their test file, so hooks that are registered for each file close the resources of its tests.
expectFileEnd()
afterAll(endFile)
beforeEach(beginTest)
afterEach(endTest)
