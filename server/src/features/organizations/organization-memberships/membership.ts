import type { AccessContext } from '../../../auth/access-context.ts'
import type * as store from './store.ts'

/** A membership that the actor may see; `facts` are those of its organization. */
export type Membership = store.MembershipRow & { access: AccessContext }

/** A membership as the caller may see it: with `hidesEmail`, without the address. */
export type ShownMembership = Membership & { hidesEmail?: boolean }
