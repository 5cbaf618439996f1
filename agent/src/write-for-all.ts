import { chmod, writeFile } from 'node:fs/promises'

/** Writes a file of the agent's own that the users of runs read, whatever the umask is. */
export async function writeForAll(path: string, text: string) {
  await writeFile(path, text)
  await chmod(path, 0o644)
}
