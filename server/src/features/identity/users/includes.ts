import type { Loader } from '../../../http/loaders.ts'
import { includedUsers } from './service.ts'

export const userLoaders: readonly Loader[] = [{ type: 'users', load: includedUsers }]
