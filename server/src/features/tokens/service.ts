export { createUserToken, ensureUserToken, revokeToken } from './user-tokens.ts'
