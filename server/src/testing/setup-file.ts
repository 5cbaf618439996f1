import { afterAll, afterEach } from 'vitest'
import { endFile, endTest, expectFileEnd } from './cleanup.ts'

// Modules may outlive their test file, so a hook that is registered for each file closes what the file has opened.
expectFileEnd()
afterAll(endFile)
afterEach(endTest)
