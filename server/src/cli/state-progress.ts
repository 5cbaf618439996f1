import type { Progress } from './state-source-and-target.ts'

/** The output for progress: a terminal gets a bar, anything else gets lines. */
export type ProgressOutput = { write: (text: string) => unknown; isTTY?: boolean; columns?: number }

const BAR = 24
/** Without a terminal, a line is printed after this many versions of a long history. */
const LINE_EVERY = 100

/** Shows the progress of a transfer; `end` moves a terminal to a new line. */
export function progressView(output: ProgressOutput) {
  let isOpen = false

  function bar(progress: Progress) {
    const { workspace, workspaceNumber, workspaces, done, versions } = progress
    const filled = versions === 0 ? BAR : Math.round((BAR * done) / versions)
    const text =
      `[${workspaceNumber}/${workspaces}] ${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ` +
      `${done}/${versions} ${workspace}  ${megabytes(progress.bytes)}`
    output.write(`\r\x1b[2K${text.slice(0, (output.columns ?? 80) - 1)}`)
    isOpen = true
  }

  function line({ workspace, workspaceNumber, workspaces, done, versions }: Progress) {
    if (done < versions && (done === 0 || done % LINE_EVERY !== 0)) return
    output.write(`[${workspaceNumber}/${workspaces}] ${workspace}: ${done} of ${versions} states\n`)
  }

  return {
    show: output.isTTY ? bar : line,
    end() {
      if (isOpen) output.write('\n')
      isOpen = false
    },
  }
}

export function megabytes(bytes: number) {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
