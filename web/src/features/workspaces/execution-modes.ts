import type { WorkspaceAttributes } from './workspace.ts'

/** Where runs execute, in words. */
export const MODES = {
  remote: { text: 'Remote', about: 'Runs execute on this server.' },
  agent: { text: 'Agent', about: 'Runs execute on agents of a pool, in your own network.' },
  local: { text: 'Local', about: 'Runs execute where the command line is; only the state is kept here.' },
} as const satisfies Record<WorkspaceAttributes['execution-mode'], { text: string; about: string }>
