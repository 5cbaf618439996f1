import { afterAll } from 'vitest'
import { endFile, promiseEnd } from './cleanup.ts'

// Modules may outlive their test file, so what a file has opened is closed by a hook that each file gets anew.
promiseEnd()
afterAll(endFile)
