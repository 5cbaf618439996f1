import { afterAll } from 'vitest'
import { endFile } from './cleanup.ts'

// Modules outlive their test file here, so what a file has opened is closed by a hook that each file gets anew.
afterAll(endFile)
