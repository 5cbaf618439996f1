import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { type RawOutcomes, reportedPolicies } from './outcome.ts'

const { inputFile, ...rest } = workerData as Omit<RawOutcomes, 'input'> & { inputFile: string } // from evaluation.ts

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
parentPort?.postMessage(reportedPolicies({ ...rest, input: readFileSync(inputFile, 'utf8') }))
