import type { VariableSetRow } from './store.ts'

/** A variable set that the actor may see. */
export type VariableSet = VariableSetRow & { canManage: boolean }
