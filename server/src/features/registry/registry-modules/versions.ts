import { compareVersions } from '@groundstate/contract/version-constraint'
import type { VersionSummary } from './store.ts'

/** The versions of a module, highest first. */
export function latestFirst<Version extends { version: string }>(versions: readonly Version[]) {
  return versions.toSorted((a, b) => compareVersions(b.version, a.version))
}

/** The published versions, highest first. */
export function publishedVersions(versions: readonly VersionSummary[]) {
  return latestFirst(versions.filter(({ status }) => status === 'ok'))
}

/** The highest published version that is not a pre-release, else the highest; undefined if none is published. */
export function latestVersion(versions: readonly VersionSummary[]) {
  const published = publishedVersions(versions)
  return published.find(({ version }) => !version.split('+', 1)[0]?.includes('-')) ?? published[0]
}
