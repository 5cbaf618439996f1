/** The sections of a workspace's settings, with search terms for the palette. */
export const WORKSPACE_SETTINGS = [
  { text: 'General', path: '', keywords: 'name description project' },
  { text: 'Tags', path: '/tags', keywords: '' },
  { text: 'Execution', path: '/execution', keywords: 'mode agent pool engine version working directory auto-apply' },
  { text: 'State sharing', path: '/sharing', keywords: 'remote terraform_remote_state consumers' },
  { text: 'Retention', path: '/retention', keywords: 'delete old states' },
  { text: 'Delete workspace', path: '/delete', keywords: '' },
] as const
