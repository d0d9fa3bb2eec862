// For those who deploy by mixins: the dashboards and rules as their files have them. Installed from the repository's root:
//   jb install github.com/translation-exporter/translation-exporter@main
//   (import 'github.com/translation-exporter/translation-exporter/grafana/mixin.libsonnet')
{
  prometheusAlerts:: std.parseYaml(importstr '../deploy/prometheus/alerts.yaml'),
  prometheusRules:: std.parseYaml(importstr '../deploy/prometheus/recording-rules.yaml'),
  grafanaDashboards:: {
    'translation-progress.json': std.parseJson(importstr 'dashboards/translation-progress.json'),
    'translation-repository.json': std.parseJson(importstr 'dashboards/translation-repository.json'),
    'translation-exporter.json': std.parseJson(importstr 'dashboards/translation-exporter.json'),
  },
}
