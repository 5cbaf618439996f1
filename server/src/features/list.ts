import type { Routes } from '../http/http.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { accountRoutes } from './account/routes.ts'
import { twoFactorRoutes } from './account/two-factor-routes.ts'
import { adminOrganizationRoutes, adminUserRoutes } from './admin/routes.ts'
import { auditTrailJobs } from './audit-trail/jobs.ts'
import { auditTrailRoutes } from './audit-trail/routes.ts'
import { avatarRoutes } from './avatars/routes.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { oauthJobs } from './oauth/jobs.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { membershipRoutes } from './organization-memberships/routes.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { projectAccessRoutes } from './project-access/routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { sessionJobs } from './sessions/jobs.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { reservedTagKeyRoutes, tagBindingRoutes, tagRoutes } from './tags/routes.ts'
import { teamAccessRoutes } from './team-access/routes.ts'
import { teamRoutes } from './teams/routes.ts'
import { organizationTokenRoutes } from './tokens/organization-token-routes.ts'
import { teamTokenRoutes } from './tokens/team-token-routes.ts'
import { userTokenRoutes } from './tokens/user-token-routes.ts'
import { userRoutes } from './users/routes.ts'
import { consumerRoutes } from './workspaces/consumer-routes.ts'
import { workspaceRoutes } from './workspaces/routes.ts'

/** Every route of the server, a line for each feature. */
export const ROUTES: readonly Routes[] = [
  accountRoutes,
  adminOrganizationRoutes,
  adminUserRoutes,
  auditTrailRoutes,
  avatarRoutes,
  consumerRoutes,
  discoveryRoutes,
  healthRoutes,
  membershipRoutes,
  oauthRoutes,
  organizationRoutes,
  organizationTokenRoutes,
  projectAccessRoutes,
  projectRoutes,
  reservedTagKeyRoutes,
  sessionRoutes,
  tagBindingRoutes,
  tagRoutes,
  teamAccessRoutes,
  teamRoutes,
  teamTokenRoutes,
  twoFactorRoutes,
  userRoutes,
  userTokenRoutes,
  workspaceRoutes,
]

/** Everything that runs in the background. */
export const JOBS: readonly JobHandler[] = [...auditTrailJobs, ...oauthJobs, ...sessionJobs]
