import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BenchRow, memoryMb, percentile, startTarget } from './target.ts'

const IDLE_MS = 5000

/** Start on an existing data folder, and the memory of server and database when nothing happens. */
export async function startupBenches(): Promise<BenchRow[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'groundstate-startup-'))
  try {
    await (await startTarget({}, dataDir)).stop()
    const times: number[] = []
    for (let index = 0; index < 3; index += 1) {
      const target = await startTarget({}, dataDir)
      times.push(target.readyMs)
      await target.stop()
    }
    const target = await startTarget({}, dataDir)
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const memory = await memoryMb(target.pid)
    await target.stop()
    return [
      {
        name: 'start to ready when all is built',
        value: percentile(times, 0.5),
        unit: 'ms',
        better: 'less',
        budget: 1500,
      },
      { name: 'idle memory, server and database', value: memory, unit: 'MB', better: 'less', budget: 150 },
    ]
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
