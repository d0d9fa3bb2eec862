// For those who deploy by mixins: the rules and dashboards of the files, beside those of other mixins.
//   jb install github.com/translation-exporter/translation-exporter@main
//   import 'github.com/translation-exporter/translation-exporter/grafana/mixin.libsonnet'
{
  prometheusAlerts+:: { groups+: std.parseYaml(importstr '../deploy/prometheus/alerts.yaml').groups },
  grafanaDashboards+:: {
    'translation-progress.json': import 'dashboards/translation-progress.json',
    'translation-repository.json': import 'dashboards/translation-repository.json',
    'translation-exporter.json': import 'dashboards/translation-exporter.json',
  },
}
