export { ensureAdmin, type FirstAdmin } from './first-admin.ts'
