import { createHash, randomBytes } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { codeOf } from './errors.ts'

let scopeOfProcess: Promise<string> | undefined

/**
 * Identifies the boot and the namespace in which the id of this process is valid, by 16 hexadecimal digits: containers have their own ids, even with
 * the same host name. A namespace can get the number of one that has ended.
 */
export async function pidScope(): Promise<string> {
  return (scopeOfProcess ??= findScope())
}

async function findScope() {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    const namespace = await readlink('/proc/self/ns/pid')
    return digest(`${boot}${namespace}`)
  } catch {
    // Only Linux has namespaces.
    return process.platform === 'linux' ? randomBytes(8).toString('hex') : digest(hostname())
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

/**
 * Whether a process that was not this one has surely ended: its id is valid here, and is unused, a zombie's or has become ours (in a container every
 * start has the same one, and without an init nothing waits for a killed process).
 */
export async function hasEnded(scope: string, pid: number) {
  if (scope !== (await pidScope())) return false
  return pid === process.pid || !isAlive(pid) || (await isZombie(pid))
}

/** Whether the process exists; a zombie does. */
export function isAlive(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

async function isZombie(pid: number) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The state follows the name in parentheses, which may contain some.
  return /^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')))
}
