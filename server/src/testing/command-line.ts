import { vi } from 'vitest'
import { runCli } from '../cli/cli.ts'

export type CommandOutput = { code: number; out: string; err: string }

/** Runs a command of `groundstate` in this process; the result has its output. */
export async function groundstate(...args: string[]): Promise<CommandOutput> {
  const output = { out: '', err: '' }
  const keep = (stream: 'out' | 'err') => (chunk: string | Uint8Array) => {
    output[stream] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    return true
  }
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(keep('out')),
    vi.spyOn(process.stderr, 'write').mockImplementation(keep('err')),
  ]
  try {
    const code = await runCli(['node', 'groundstate', ...args])
    return { code, ...output }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}
