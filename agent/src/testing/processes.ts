import { readFileSync } from 'node:fs'

/** Whether a process is running, and not a zombie. */
export function processIsAlive(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !/\) [ZX]/.test(status)
  } catch {
    return false
  }
}

export function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
