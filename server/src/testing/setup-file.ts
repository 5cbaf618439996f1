import { afterAll, afterEach } from 'vitest'
import { endFile, endTest, expectFileEnd } from './cleanup.ts'

// Modules may outlive their test file, so a hook that is registered for each file closes the resources of the file.
expectFileEnd()
afterAll(endFile)
afterEach(endTest)
