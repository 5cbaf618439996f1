import { queryString } from '../../api/client.ts'
import type { WorkspaceAttributes } from './workspace.ts'

/** The tabs of a workspace, with the permission that shows them. */
export const WORKSPACE_TABS: readonly [
  text: string,
  path: string,
  permission?: keyof WorkspaceAttributes['permissions'],
][] = [
  ['Overview', ''],
  ['Runs', '/runs', 'can-read-run'],
  ['States', '/states', 'can-read-state-versions'],
  ['Variables', '/variables', 'can-read-variable'],
  ['Run tasks', '/tasks'],
  ['Run triggers', '/triggers', 'can-read-run'],
  ['Deliveries', '/deliveries', 'can-read-run'],
  ['Access', '/access'],
  ['Settings', '/settings', 'can-read-settings'],
]

/** The tabs that the user may open. A workspace without a repository has no deliveries. */
export function shownTabs(workspace: WorkspaceAttributes) {
  return WORKSPACE_TABS.filter(
    ([, path, permission]) =>
      (!permission || workspace.permissions[permission]) && (path !== '/deliveries' || workspace['vcs-repo'] !== null),
  )
}

/** The sections of a workspace's settings, with search terms for the palette. */
export const WORKSPACE_SETTINGS = [
  { text: 'General', path: '', keywords: 'name description project' },
  { text: 'Tags', path: '/tags', keywords: '' },
  { text: 'Execution', path: '/execution', keywords: 'mode agent pool engine version working directory auto-apply' },
  {
    text: 'Repository',
    path: '/repository',
    keywords: 'vcs git branch tags triggers pull requests ssh key submodules webhook',
  },
  { text: 'Policies', path: '/policies', keywords: 'policy sets opa rego mandatory advisory exclusions' },
  { text: 'Notifications', path: '/notifications', keywords: 'slack microsoft teams email webhook alerts' },
  {
    text: 'Workload identity',
    path: '/workload-identity',
    keywords: 'oidc openid dynamic credentials aws gcp google azure vault kubernetes trust policy subject',
  },
  { text: 'State sharing', path: '/sharing', keywords: 'remote terraform_remote_state consumers' },
  { text: 'Retention', path: '/retention', keywords: 'delete old states' },
  { text: 'Delete workspace', path: '/delete', keywords: '' },
] as const

/** The sections that the user may open. */
export function shownSettings(permissions: WorkspaceAttributes['permissions']) {
  const hidden: Readonly<Record<string, boolean>> = {
    '/delete': !permissions['can-destroy'],
    '/workload-identity': !permissions['can-read-variable'],
  }
  return WORKSPACE_SETTINGS.filter(({ path }) => hidden[path] !== true)
}

type ShownWorkspace = { id: string; name: string; organization: string }

/** API paths of tabs and settings that show more than the workspace itself. */
const REQUESTS: Readonly<Record<string, (shown: ShownWorkspace) => string>> = {
  '/runs': ({ id }) => `/workspaces/${id}/runs`,
  '/states': ({ name, organization }) =>
    `/state-versions${queryString({ 'filter[organization][name]': organization, 'filter[workspace][name]': name })}`,
  '/variables': ({ id }) => `/workspaces/${id}/all-vars?overwritten=true`,
  '/tasks': ({ id }) => `/workspaces/${id}/tasks`,
  '/triggers': ({ id }) => `/workspaces/${id}/run-triggers${queryString({ 'filter[run-trigger][type]': 'inbound' })}`,
  '/deliveries': ({ id }) => `/workspaces/${id}/vcs-decisions`,
  '/access': ({ id }) => `/team-workspaces${queryString({ 'filter[workspace][id]': id })}`,
  '/settings/tags': ({ id }) => `/workspaces/${id}/tag-bindings`,
  '/settings/policies': ({ id }) => `/workspaces/${id}/applied-policy-sets`,
  '/settings/notifications': ({ id }) => `/workspaces/${id}/notification-configurations`,
  '/settings/workload-identity': ({ id }) => `/workspaces/${id}/workload-identity`,
  '/settings/sharing': ({ id }) => `/workspaces/${id}/relationships/remote-state-consumers`,
}

/** The API path of what a tab or a section of the settings shows. */
export function workspaceRequest(path: string, workspace: ShownWorkspace) {
  return REQUESTS[path]?.(workspace) ?? `/workspaces/${workspace.id}`
}
