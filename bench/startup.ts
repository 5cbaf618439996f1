import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './load.ts'
import { type BenchRow, memoryMb, type Target } from './target.ts'

const IDLE_MS = 5000

/** Start on an existing data directory, and the idle memory of server and database. */
export async function startupBenches({ start, turn }: Target): Promise<BenchRow[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'groundstate-startup-'))
  try {
    await (await start({}, dataDir)).stop()
    const times: number[] = []
    for (let index = 0; index < 5; index += 1) {
      await turn?.()
      const target = await start({}, dataDir)
      times.push(target.readyMs)
      await target.stop()
    }
    const target = await start({}, dataDir)
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const memory = await memoryMb(target.pid)
    await target.stop()
    return [
      { name: 'start to ready when all is built', value: median(times), unit: 'ms', better: 'less', budget: 1500 },
      { name: 'idle memory, server and database', value: memory, unit: 'MB', better: 'less', budget: 150 },
    ]
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
