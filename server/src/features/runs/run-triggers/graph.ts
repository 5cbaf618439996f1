import type { GraphTriggerRow, GraphWorkspaceRow } from './graph-store.ts'

/** The workspaces of an organization that the actor may read, and the run triggers between them. */
export type DependencyGraph = {
  organization: string
  workspaces: GraphWorkspaceRow[]
  triggers: GraphTriggerRow[]
  /** The number of the cycle that a workspace is in. */
  cycles: ReadonlyMap<string, number>
  truncated: boolean
}
