// For those who deploy by mixins: the rules and dashboards of the files, beside those of other mixins.
//   jb install github.com/translation-exporter/translation-exporter@main
//   (import 'github.com/translation-exporter/translation-exporter/grafana/mixin.libsonnet') + {
//     _config+:: { selector: 'job="l10n"', dashboardUrl: 'https://grafana.example.com' },
//   }
{
  _config+:: {
    // Matchers for each selector of the alerts. With one, TranslationExporterAbsent fires while it matches no exporter.
    selector: '',
    // Of the alerts on translations, and of those on exporters.
    severities: { translations: 'warning', exporters: 'warning' },
    // The runbook and the Grafana to which alerts link.
    runbookUrl: 'https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/runbook.md',
    dashboardUrl: 'http://localhost:3000',
  },

  local config = self._config,
  local selected(expr) =
    if config.selector == '' then expr
    else std.strReplace(std.strReplace(expr, '{', '{' + config.selector + ', '), ', }', '}'),
  local configured(rule, severity) = rule {
    expr: selected(super.expr),
    labels+: { severity: severity },
    annotations+: {
      runbook_url: config.runbookUrl + '#' + std.asciiLower(rule.alert),
      dashboard_url: std.strReplace(super.dashboard_url, 'http://localhost:3000', config.dashboardUrl),
    },
  },

  local absent = {
    alert: 'TranslationExporterAbsent',
    expr: 'absent(up{}) or absent_over_time(translation_exporter_build_info{}[7d])',
    'for': '15m',
    annotations: {
      summary: 'An exporter is absent',
      description: 'Prometheus has no target of {%s}, or has not scraped an exporter there for a week. Nobody watches its translations.' % config.selector,
      dashboard_url: 'http://localhost:3000/d/translation-exporter',
    },
  },

  prometheusAlerts+:: {
    groups+: [
      local severity = if group.name == 'translation-progress.alerts' then 'translations' else 'exporters';
      group { rules: [configured(rule, config.severities[severity]) for rule in super.rules] }
      for group in std.parseYaml(importstr '../deploy/prometheus/alerts.yaml').groups
    ] + if config.selector == '' then [] else [
      { name: 'translation-exporter.absent', rules: [configured(absent, config.severities.exporters)] },
    ],
  },
  grafanaDashboards+:: {
    'translation-progress.json': import 'dashboards/translation-progress.json',
    'translation-repository.json': import 'dashboards/translation-repository.json',
    'translation-exporter.json': import 'dashboards/translation-exporter.json',
  },
}
