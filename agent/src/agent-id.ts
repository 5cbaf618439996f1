import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const kept = z.object({ serverUrl: z.string(), agentId: z.string().min(1).max(100) })

const fileOf = (workDir: string) => join(workDir, 'registration.json')

/** The id that this server gave to the last agent on the directory; undefined when there is none that can be read. */
export async function readAgentId(workDir: string, serverUrl: string): Promise<string | undefined> {
  try {
    const { agentId, ...former } = kept.parse(JSON.parse(await readFile(fileOf(workDir), 'utf8')))
    return former.serverUrl === serverUrl ? agentId : undefined
  } catch {
    return undefined
  }
}

/** Keeps the id for the next agent on the directory, which is the same one. */
export async function keepAgentId(workDir: string, facts: z.infer<typeof kept>) {
  const file = fileOf(workDir)
  await writeFile(`${file}.new`, `${JSON.stringify(facts)}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
}
