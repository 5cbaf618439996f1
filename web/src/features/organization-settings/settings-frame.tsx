import { getRouteApi } from '@tanstack/react-router'
import { SectionLayout } from '../../components/section-layout.tsx'
import { SETTINGS_SECTIONS } from './settings-sections.ts'

const route = getRouteApi('/frame/app/$organization')

export function SettingsFrame() {
  const params = route.useParams()
  const sections = SETTINGS_SECTIONS.map(({ text, path }) => ({
    text,
    isExact: path === '',
    link: { to: `/app/$organization/settings${path}`, params },
  }))
  return <SectionLayout label="Organization settings" sections={sections} />
}
