import { afterAll, afterEach } from 'vitest'
import { endFile, endTest, promiseEnd } from './cleanup.ts'

// Modules may outlive their test file, so what a file has opened is closed by a hook that each file gets anew.
promiseEnd()
afterAll(endFile)
afterEach(endTest)
