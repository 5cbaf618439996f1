import type { Facts } from '../../../auth/facts.ts'
import * as store from './store.ts'

/** A membership that the actor may see; `facts` are those of its organization. */
export type Membership = store.MembershipRow & { facts: Facts }
