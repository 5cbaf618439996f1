import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import type { Host } from './host.ts'

export declare function hostOf(provider: ServiceProvider): Host
