import type { GrantRow } from './store.ts'

/** The workspace or project of a grant, as the actor may see it; `path` is where the interface has it. */
export type GrantSubject = { id: string; organizationId: string; path: string; seesAllGrants: boolean }

/** What a team may do to a workspace or project that the actor may see. */
export type Grant = GrantRow & { subject: GrantSubject }
