import { SIGN_IN_TABLES } from './0002-organizations.ts'

/** Adds to earlier databases the sign-in settings of the web UI. */
export const up = SIGN_IN_TABLES
