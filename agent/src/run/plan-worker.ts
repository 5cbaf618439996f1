import { parentPort, workerData } from 'node:worker_threads'
import { z } from 'zod'
import { readPlanHere } from './plan-document.ts'

const files = z.object({ planJson: z.string(), schemas: z.array(z.string()), sensitive: z.array(z.string()) })

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
parentPort?.postMessage(await readPlanHere(files.parse(workerData)))
