import type { EventEmitter } from 'node:events'
import { vi } from 'vitest'
import { runCli } from '../cli/cli.ts'

export type CommandOutput = { code: number; out: string; err: string }

/** `serve` keeps its listeners until the process ends, which would be that of the following tests. */
function rememberListeners() {
  const kept = [
    ...(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const).map((event) => [process, event] as const),
    ...[process.stdout, process.stderr].map((output) => [output, 'error'] as const),
  ].map(([emitter, event]: readonly [EventEmitter, string]) => ({ emitter, event, before: emitter.listeners(event) }))
  return () => {
    for (const { emitter, event, before } of kept)
      for (const listener of emitter.listeners(event).filter((each) => !before.includes(each)))
        emitter.off(event, listener as () => void)
  }
}

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
  const removeListeners = rememberListeners()
  try {
    const code = await runCli(['node', 'groundstate', ...args])
    return { code, ...output }
  } finally {
    for (const spy of spies) spy.mockRestore()
    removeListeners()
  }
}
